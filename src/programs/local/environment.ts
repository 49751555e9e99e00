// The whole environment of a program of the local fleet; nothing is inherited from ours.
import { LEAN_MALLOC } from '#lib/lean-malloc.ts'

export const programEnv = (compileCache: string | undefined): Readonly<Record<string, string>> => ({
  PATH: '/usr/local/bin:/usr/bin:/bin',
  LANG: 'C.UTF-8',
  ...LEAN_MALLOC,
  ...(compileCache !== undefined && { NODE_COMPILE_CACHE: compileCache }),
})
