// Arguments of every git call that override its configuration: nothing in a repository can make it run a program, ask a question or write through a link.

/** Settings that a repository's own config would otherwise choose; all name programs, or where to find some. */
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

/** No settings of the user or of the host: git, ssh and curl look for files there. */
export const SAFE_ENV = {
  HOME: '/dev/null',
  XDG_CONFIG_HOME: '/dev/null',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  /** No address that a server or a submodule names counts as typed by a person. */
  GIT_PROTOCOL_FROM_USER: '0',
  /** An object is what its name says: refs/replace/… of a repository does not count. */
  GIT_NO_REPLACE_OBJECTS: '1',
  LC_ALL: 'C',
} as const

export const SAFE_SETTINGS: readonly string[] = OFF.flatMap((setting) => ['-c', setting])
