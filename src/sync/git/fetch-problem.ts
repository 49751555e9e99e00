// Turns git's output about a failed fetch into an error with instructions. The server's text is shown without the credentials that the server got.
import { KubeNodeError } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { syncErrors } from '../sync-errors.ts'
import type { GitAccess } from './access.ts'
import { certificateProblem } from './certificate-problem.ts'
import { lookupFor, type GitReach } from './reach.ts'
import type { SshAccess } from './ssh-access.ts'

export interface FailedFetch {
  readonly url: string
  readonly access: GitAccess
  readonly reach: GitReach
  readonly output: string
}

export async function fetchProblem({ url, access, reach, output }: FailedFetch): Promise<KubeNodeError> {
  const cause = causeIn(output)
  const why = shownCause(withoutSecrets(cause, access))
  // The sender is not at fault here: address and credentials are right.
  const [, object, fault] = /^error: object ([0-9a-f]{40,64}): (.+)$/m.exec(output) ?? []
  if (object !== undefined && fault !== undefined)
    return later(
      syncErrors.KN7015_refused({ url, object: object.slice(0, 12), why: shownCause(withoutSecrets(fault, access)) }),
    )
  const [memory] = /^fatal( error)?: .*(out of memory|allocation failed).*$/im.exec(output) ?? []
  if (memory !== undefined) return later(syncErrors.KN7059({ url, why: shownCause(withoutSecrets(memory, access)) }))
  const [, ref] = /couldn't find remote ref (\S+)/.exec(cause) ?? []
  if (ref !== undefined) return missingRef({ url, ref: refText(ref), hint: '' })
  if (access.kind === 'SshKey') return sshProblem(url, access, output) ?? unknownProblem(url, why)
  const proxy = access.kind === 'Https' ? access.proxy : undefined
  if (proxy !== undefined && PROXY.test(cause)) return later(syncErrors.KN7047({ url, proxy: proxy.url, why }))
  const kind = /^https:/i.test(url) ? kindOf(cause) : undefined
  if (kind === '401' || kind === '403')
    return later(syncErrors.KN7023({ url, credentials: shown(access), status: kind }))
  if (kind === 'Redirect') return later(syncErrors.KN7025({ url }))
  if (kind === 'Certificate' && proxy === undefined) {
    const authorities = access.kind === 'Https' ? access.authorities : undefined
    const problem = await certificateProblem(url, { authorities, lookup: lookupFor(url, reach) })
    return later(syncErrors.KN7024({ url, why: problem ?? why }))
  }
  return unknownProblem(url, why)
}

/** `hint` describes what the server has instead. */
export const missingRef = (values: { readonly url: string; readonly ref: string; readonly hint: string }) =>
  later(syncErrors.KN7049(values))

const refText = (ref: string): string => ref.replace(/^refs\/heads\//, 'branch ').replace(/^refs\/tags\//, 'tag ')

/** Advice that git prints after the cause when a server closed the connection, or sent something that is not a pack. */
const ADVICE =
  /^(fatal: |error: )?(Could not read from remote repository|Please make sure you have|and the repository exists|fetch-pack: invalid index-pack output|fetch failed\.)/

/** Statuses and logs repeat this text, and the server controls it. */
const MAX_WHY_CHARS = 1_024
export const shownCause = (why: string): string => {
  const line = printableLine(why)
  return line.length > MAX_WHY_CHARS ? `${line.slice(0, MAX_WHY_CHARS)}…` : line
}

const linesOf = (output: string): readonly string[] =>
  output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
const causeIn = (output: string): string => {
  const lines = linesOf(output)
  return lines.findLast((line) => !ADVICE.test(line)) ?? lines.at(-1) ?? ''
}

function sshProblem(url: string, { fingerprint }: SshAccess, output: string): KubeNodeError | undefined {
  const lines = linesOf(output)
  const line = (text: RegExp) => lines.find((l) => text.test(l))
  if (line(/^Host key verification failed/) !== undefined) {
    const sent = line(/^SHA256:/)?.replace(/\.$/, '')
    const other = sent === undefined ? 'it sent another one than that of known_hosts' : `it sent ${sent}`
    const why =
      line(/REVOKED HOST KEY/) !== undefined
        ? 'known_hosts has it as revoked'
        : line(/HOST IDENTIFICATION HAS CHANGED/) !== undefined
          ? other
          : (line(/^No .* host key is known/) ?? 'ssh does not accept it')
    return later(syncErrors.KN7028({ url, why }))
  }
  const refused = line(/Permission denied|Too many authentication failures/)
  if (refused !== undefined)
    return later(syncErrors.KN7023_ssh({ url, key: fingerprint ?? 'of its Secret', why: shownCause(refused) }))
  return undefined
}

export const unknownProblem = (url: string, why: string): KubeNodeError => later(syncErrors.KN7009({ url, why }))

const later = (message: ConstructorParameters<typeof KubeNodeError>[0]): KubeNodeError =>
  new KubeNodeError(message, { retry: 'later' })

function shown(access: GitAccess): string {
  const hasCredentials = access.kind === 'Https' && access.authorization !== undefined
  return hasCredentials ? 'the credentials in the Secret of spec.secretRef' : 'a request without credentials'
}

/** Phrases of different curl versions. */
const PROXY = /CONNECT tunnel failed|Proxy CONNECT aborted|from proxy after CONNECT|resolve proxy/i

type Kind = '401' | '403' | 'Redirect' | 'Certificate'

/** git asks for a user and a password when the server wants different ones. The phrases are curl's, with GnuTLS, as in the image, and with OpenSSL. */
const KINDS: readonly (readonly [Kind, RegExp])[] = [
  ['401', /returned error: 401|Authentication failed for|could not read (Username|Password) for/],
  ['403', /returned error: 403/],
  ['Redirect', /returned error: 30[12378]/],
  ['Certificate', /unable to access .*(certificate|SSL peer)/i],
]

const kindOf = (line: string): Kind | undefined => KINDS.find(([, text]) => text.test(line))?.[0]

/** More people can read a status than the Secret, and a server may print what it was sent. */
export function withoutSecrets(text: string, access: GitAccess): string {
  const secrets = access.kind === 'Https' ? access.secrets : []
  return secrets.reduce((left, secret) => left.replaceAll(secret, '***'), text)
}
