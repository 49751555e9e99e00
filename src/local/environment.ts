// The whole environment of a program of the local fleet; nothing is inherited from ours.
export const programEnv = (compileCache: string | undefined): Readonly<Record<string, string>> => ({
  PATH: '/usr/local/bin:/usr/bin:/bin',
  LANG: 'C.UTF-8',
  ...(compileCache !== undefined && { NODE_COMPILE_CACHE: compileCache }),
})
