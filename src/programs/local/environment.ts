// The whole environment of a program of the local fleet; nothing is inherited from ours.
import { defined } from '#lib/defined.ts'
import { LEAN_MALLOC } from '#lib/lean-malloc.ts'

export const programEnv = (compileCache: string | undefined): Readonly<Record<string, string>> => ({
  PATH: '/usr/local/bin:/usr/bin:/bin',
  LANG: 'C.UTF-8',
  ...LEAN_MALLOC,
  ...defined({ NODE_COMPILE_CACHE: compileCache }),
})
