// `node src/cli/build.ts`: what the first start of a checkout would do, done when its packages are installed.
import { build, builtOf } from '#local/build.ts'
import { programEnv } from '#local/environment.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { COMPILE_CACHE } from './compile-cache.ts'

const where = { root: releaseRoot(), cache: COMPILE_CACHE }
if (builtOf(where) === undefined) await build({ ...where, node: process.execPath, env: programEnv(COMPILE_CACHE) })
