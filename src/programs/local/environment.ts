// The complete environment of a local fleet's program. It inherits nothing from this process.
import { defined } from '#lib/defined.ts'
import { LEAN_MALLOC } from '#lib/lean-malloc.ts'

export const programEnv = (compileCache: string | undefined): Readonly<Record<string, string>> => ({
  PATH: '/usr/local/bin:/usr/bin:/bin',
  LANG: 'C.UTF-8',
  ...LEAN_MALLOC,
  ...defined({ NODE_COMPILE_CACHE: compileCache }),
})
