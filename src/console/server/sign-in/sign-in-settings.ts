// Sign-in settings of a console that runs as a role, shared by the installation and the program's file.
import { bool, fallback, obj, optional, refine, setOf, str, type Out } from '#api/build.ts'
import { url } from '#api/fields.ts'

const MOST_LISTED = 256
const MOST_PEM = 65_536
const pem = (doc: string) =>
  str(doc, {
    min: 1,
    max: MOST_PEM,
    pattern: '^-----BEGIN CERTIFICATE-----\\n',
    expects: 'one or more certificates in PEM',
  })
/** A list of users or groups. The cluster's own system identities are never allowed. */
const listed = (doc: string) =>
  str(doc, {
    min: 1,
    max: 256,
    pattern: '^(?!system:)[!-~]([ -~]*[!-~])?$',
    expects: 'printable characters, not starting with system:',
  })
const header = (doc: string) =>
  str(doc, { min: 1, max: 64, pattern: '^[A-Za-z][A-Za-z0-9-]*$', expects: 'letters, digits and -' })

const ISSUER = {
  name: 'issuer',
  findings: (value: unknown) =>
    typeof value === 'string' && /^https:\/\/[^?#@]+$/.test(value)
      ? []
      : [{ pointer: '', message: 'must start with https:// and have no query' }],
}

export const signInFields = {
  names: setOf(
    'Host names by which browsers reach the page; requests for others are refused.',
    str('A host name.', {
      min: 1,
      max: 253,
      pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
      expects: 'a host name in lower case, without port',
    }),
    { min: 1, max: 8 },
  ),
  path: fallback(
    str('Path below the host where a reverse proxy serves the page, such as /kubenode; empty for the root.', {
      max: 256,
      pattern: '^(/[A-Za-z0-9_-]+)*$',
      expects: 'a path that starts with /, of letters, digits, - and _, without a / at its end',
    }),
    '',
  ),
  tokens: fallback(bool('Whether people may sign in with bearer tokens of the clusters.'), true),
  oidc: optional(
    obj('Sign-in at an issuer of OpenID Connect, whose ID tokens the API server accepts.', {
      issuer: refine(url('Address of the issuer, as its tokens name it.'), {}, { checks: [ISSUER] }),
      clientId: str('Client of the console there; the audience that the API server accepts.', { min: 1, max: 256 }),
      ca: optional(pem('Authority of the issuer; those of the system when left out.')),
      scopes: fallback(
        setOf(
          'Scopes that are asked for.',
          str('A scope.', { min: 1, max: 128, pattern: '^[!-~]+$', expects: 'no spaces' }),
          { max: 16 },
        ),
        ['openid'],
      ),
      clusters: fallback(
        setOf(
          'Further clusters whose API servers accept these tokens: they get them.',
          str('A context of the kubeconfig.', { min: 1, max: 253 }),
          { max: MOST_LISTED },
        ),
        [],
      ),
    }),
  ),
  proxy: optional(
    obj('A proxy that signs people in; nothing else reaches the page then.', {
      clientCa: pem('Authority of the client certificate of the proxy.'),
      names: setOf('Common names of that certificate.', str('A name.', { min: 1, max: 64 }), { min: 1, max: 8 }),
      userHeader: fallback(header('Header with the user.'), 'X-Remote-User'),
      groupHeader: fallback(header('Header with groups, joined by commas or once for each.'), 'X-Remote-Group'),
      users: setOf('Users whom the console may impersonate; others are refused.', listed('A user.'), {
        min: 1,
        max: MOST_LISTED,
      }),
      groups: fallback(
        setOf('Groups that the console may impersonate; others are left out.', listed('A group.'), {
          max: MOST_LISTED,
        }),
        [],
      ),
    }),
  ),
}

export const consoleFileSchema = obj('The file of role console.', {
  ...signInFields,
  cert: str('File with the certificate of the page, in PEM.', { min: 1, max: 4_096 }),
  key: str('File with its key.', { min: 1, max: 4_096 }),
  clientSecret: optional(str('File with the secret of the client at the issuer.', { min: 1, max: 4_096 })),
  clusters: optional(str('Kubeconfig whose contexts are further clusters.', { min: 1, max: 4_096 })),
})

export type ConsoleFile = Out<typeof consoleFileSchema>
