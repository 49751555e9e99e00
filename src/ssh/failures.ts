// Pure: why a session failed, as one of a few classes. OpenSSH exits with 255 for its own failures and prints the cause; other codes are the script's.
import type { SshVisit } from '#api/kinds/machine.ts'
import { JUMP } from './target.ts'

/** As the status of a Machine names them. */
export type SshFailure = SshVisit['reason']

export interface Failed {
  readonly kind: 'Failed'
  readonly failure: SshFailure
  /** For people; safe to show. */
  readonly why: string
}

/** Exit code of ssh itself, also when the connection is lost. */
export const OF_SSH = 255

/** The first that matches; a jump host's ssh prints its cause before the connection through it ends. */
const PATTERNS: readonly (readonly [RegExp, SshFailure])[] = [
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED|Offending \S+ key in|is marked as revoked|differs from the key/,
    'HostKeyChanged',
  ],
  [
    /Host key verification failed|host key is known for|Certificate invalid|no matching host key type/,
    'HostKeyUnknown',
  ],
  [/Permission denied|Too many authentication failures|Load key .*(invalid format|error in libcrypto)/, 'AuthRefused'],
  [/Connection timed out|Operation timed out|timed out during banner exchange/, 'Unreachable'],
]

/** A server can print what looks like a message of ssh. It then only changes its own class. */
export function failureOf(
  code: number | null,
  stderr: string,
  isPinned: boolean,
): { readonly failure: SshFailure; readonly line: string } {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('@'))
  const last = lines.at(-1) ?? ''
  if (code !== OF_SSH)
    return { failure: 'PreflightFailed', line: last || `its shell exited with code ${code ?? 'none'}` }
  const server = stderr.includes(JUMP) ? 'the jump host' : 'the host'
  for (const [pattern, failure] of PATTERNS) {
    if (!pattern.test(stderr)) continue
    // With a pinned key, a server that has only keys of other types is not the server that was pinned.
    if (failure === 'HostKeyChanged' || (failure === 'HostKeyUnknown' && isPinned))
      return { failure: 'HostKeyChanged', line: `${server} presented ${sentKey(stderr)} instead of the pinned key` }
    return { failure, line: lines.find((line) => pattern.test(line)) ?? last }
  }
  return { failure: 'Unreachable', line: last || 'ssh ended without a message' }
}

const sentKey = (stderr: string): string => /SHA256:[A-Za-z0-9+/]{40,44}/.exec(stderr)?.[0] ?? 'another key'
