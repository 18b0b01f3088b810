# Installs hookspan's programs from a release, for this user:
#
#   irm https://github.com/hookspan/hookspan/releases/latest/download/install.ps1 | iex
#
# HOOKSPAN_BIN is the folder for the programs, %LOCALAPPDATA%\Programs\hookspan if
# it is not set. HOOKSPAN_FROM is the address of the release's files. An archive
# that is not the one that checksums.txt names is not unpacked.
& {
    $ErrorActionPreference = 'Stop'
    # Windows PowerShell 5.1 is much slower with its progress bar.
    $ProgressPreference = 'SilentlyContinue'

    $from = $env:HOOKSPAN_FROM
    if (-not $from) { $from = 'https://github.com/hookspan/hookspan/releases/latest/download' }
    $bin = $env:HOOKSPAN_BIN
    if (-not $bin) { $bin = Join-Path $env:LOCALAPPDATA 'Programs\hookspan' }

    $cpu = $env:PROCESSOR_ARCHITEW6432
    if (-not $cpu) { $cpu = $env:PROCESSOR_ARCHITECTURE }
    $arch = switch ($cpu) {
        'AMD64' { 'amd64' }
        'ARM64' { 'arm64' }
        default { throw "install: there are programs for x86-64 and arm64, not for $cpu" }
    }

    $work = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
    New-Item -ItemType Directory -Path $work | Out-Null
    try {
        $list = Join-Path $work 'checksums.txt'
        Invoke-WebRequest -UseBasicParsing -Uri "$from/checksums.txt" -OutFile $list
        $found = @(Get-Content $list | Where-Object { $_ -cmatch "^[0-9a-f]{64}  hookspan_[0-9A-Za-z.+~-]+_windows_$arch\.zip$" })
        if ($found.Count -ne 1) { throw "install: $from/checksums.txt: names $($found.Count) archives for windows on $arch, want one" }
        $want, $archive = $found[0] -split '  ', 2
        $zip = Join-Path $work $archive
        Invoke-WebRequest -UseBasicParsing -Uri "$from/$archive" -OutFile $zip
        $got = (Get-FileHash -Algorithm SHA256 $zip).Hash.ToLowerInvariant()
        if ($got -cne $want) { throw "install: ${archive}: the SHA-256 is $got, checksums.txt has ${want}: nothing is installed" }

        $new = Join-Path $work 'new'
        Expand-Archive -Path $zip -DestinationPath $new
        New-Item -ItemType Directory -Force -Path $bin | Out-Null
        Get-ChildItem $bin -Filter '*.old' | Remove-Item -ErrorAction SilentlyContinue
        foreach ($program in 'hook-runner.exe', 'cline-hook.exe', 'claude-hook.exe', 'hookspan.exe') {
            $path = Join-Path $bin $program
            # A program that runs cannot be replaced, but renamed.
            if (Test-Path $path) { Move-Item $path "$path.$([IO.Path]::GetRandomFileName()).old" }
            Copy-Item (Join-Path $new $program) $path
        }
        Get-ChildItem $bin -Filter '*.old' | Remove-Item -ErrorAction SilentlyContinue
    }
    finally {
        Remove-Item -Recurse -Force $work
    }

    $path = [Environment]::GetEnvironmentVariable('Path', 'User')
    if (($path -split ';') -notcontains $bin) {
        [Environment]::SetEnvironmentVariable('Path', (@($path, $bin) -ne '' -join ';'), 'User')
        $env:Path = "$env:Path;$bin"
    }
    "$(& (Join-Path $bin 'hookspan.exe') --version) is in $bin"
    'Next: hookspan install'
}
