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

export const SAFE_SETTINGS: readonly string[] = OFF.flatMap((setting) => ['-c', setting])
