// Turns what git printed about a failed fetch into an error that says what to do. What the server sent is shown without the credentials it was shown.
import { KubeNodeError } from '#lib/errors.ts'
import { syncErrors } from '../sync-errors.ts'
import type { GitAccess } from './access.ts'
import { certificateProblem } from './certificate-problem.ts'

export interface FailedFetch {
  readonly url: string
  readonly access: GitAccess
  /** What git printed. */
  readonly said: string
}

export async function fetchProblem({ url, access, said }: FailedFetch): Promise<KubeNodeError> {
  const last = said.trim().split('\n').at(-1) ?? ''
  const why = withoutSecrets(last, access)
  const kind = /^https:/i.test(url) ? kindOf(last) : undefined
  if (kind === '401' || kind === '403')
    return later(syncErrors.KN7023({ url, credentials: shown(access), status: kind }))
  if (kind === 'Redirect' && access.kind === 'Https') return later(syncErrors.KN7025({ url }))
  if (kind === 'Certificate') {
    const authorities = access.kind === 'Https' ? access.authorities : undefined
    return later(syncErrors.KN7024({ url, why: (await certificateProblem(url, authorities)) ?? why }))
  }
  return unknownProblem(url, why)
}

export const unknownProblem = (url: string, why: string): KubeNodeError => later(syncErrors.KN7009({ url, why }))

const later = (message: ConstructorParameters<typeof KubeNodeError>[0]): KubeNodeError =>
  new KubeNodeError(message, { retry: 'later' })

function shown(access: GitAccess): string {
  if (access.kind === 'Program') return 'the credentials of the user that sync runs as'
  const hasCredentials = access.kind === 'Https' && access.authorization !== undefined
  return hasCredentials ? 'the credentials in the Secret of spec.secretRef' : 'a request without credentials'
}

type Kind = '401' | '403' | 'Redirect' | 'Certificate'

/** git asks for a user and a password when the server wants others. Texts are those of curl with GnuTLS, as in our image, and with OpenSSL. */
const KINDS: readonly (readonly [Kind, RegExp])[] = [
  ['401', /returned error: 401|Authentication failed for|could not read (Username|Password) for/],
  ['403', /returned error: 403/],
  ['Redirect', /returned error: 30[12378]/],
  ['Certificate', /unable to access .*(certificate|SSL peer)/i],
]

const kindOf = (line: string): Kind | undefined => KINDS.find(([, text]) => text.test(line))?.[0]

/** Status is read by more people than the Secret, and a server may print what it was sent. */
function withoutSecrets(text: string, access: GitAccess): string {
  const secrets = access.kind === 'Https' ? access.secrets : []
  return secrets.reduce((left, secret) => left.replaceAll(secret, '***'), text)
}
