// Arguments of every git call that override its configuration: nothing in a repository can make git run a program, ask a question or write through a link.

/** Settings that a repository's own config could set; all of them name programs, or where to find them. */
const OFF = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.symlinks=false',
  'core.alternateRefsCommand=true',
  'core.pager=cat',
  'core.editor=false',
  'core.askPass=false',
  'core.attributesFile=/dev/null',
  'credential.helper=',
  'log.showSignature=false',
  'commit.gpgSign=false',
  'tag.gpgSign=false',
  'protocol.ext.allow=never',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=no',
] as const

/** Ignores the settings of the user and the host: git, ssh and curl would read files there. */
export const SAFE_ENV = {
  HOME: '/dev/null',
  XDG_CONFIG_HOME: '/dev/null',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  /** An address that comes from a server or a submodule never counts as typed by a user. */
  GIT_PROTOCOL_FROM_USER: '0',
  /** An object is what its id claims: a repository's refs/replace/… are ignored. */
  GIT_NO_REPLACE_OBJECTS: '1',
  LC_ALL: 'C',
} as const

export const SAFE_SETTINGS: readonly string[] = OFF.flatMap((setting) => ['-c', setting])
