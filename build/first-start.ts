// `node build/first-start.ts`: does the work of a checkout's first start when its packages are installed.
import { build, markedBuild } from '#install/package/build.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { keepOthersFromWriting } from '#lib/private-folder.ts'
import { compileCache } from '#lib/compile-cache.ts'
import { makeOutline } from './make-outline.ts'

keepOthersFromWriting()
await makeOutline()
const cache = compileCache()
if (cache !== undefined) {
  const where = { root: releaseRoot(), cache }
  if (markedBuild(where) === undefined) await build(where)
}
