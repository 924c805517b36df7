// What the tests import from Node, without types: so the type checker needs no package for them.
declare module "node:assert/strict";
declare module "node:fs";
declare module "node:test";
declare module "node:zlib";
