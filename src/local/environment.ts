// All that a program of the local fleet gets of an environment; nothing of ours.
export const programEnv = (compileCache: string | undefined): Readonly<Record<string, string>> => ({
  PATH: '/usr/local/bin:/usr/bin:/bin',
  LANG: 'C.UTF-8',
  ...(compileCache !== undefined && { NODE_COMPILE_CACHE: compileCache }),
})
