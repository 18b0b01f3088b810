#!/usr/bin/env node
"use strict";
require("./hookspan.js");
