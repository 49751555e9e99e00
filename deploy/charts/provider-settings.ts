// Settings of providers that run in pods of their own, so that the controllers hold no key of a cloud.
import { choice, fallback, freeform, list, map, obj, optional, setOf, str, type Out } from '#api/build.ts'
import type { Finding } from '#api/extras.ts'
import { objectName } from '#api/fields.ts'
import { isObject } from '#lib/json.ts'
import { egress, MAX_PEM, resources } from './setting-fields.ts'

const MOST_PODS = 8
const MAX_OPTIONS = 65_536

/** A pod may exchange a token of its account for keys of a role: nothing but the cloud takes this token. */
interface CloudRole {
  readonly audience: string
  readonly arn: string
  readonly tokenFile: string
  readonly oidcProvider?: string
}
export const CLOUD_ROLES: Readonly<Partial<Record<string, CloudRole>>> = {
  aws: { audience: 'sts.amazonaws.com', arn: 'AWS_ROLE_ARN', tokenFile: 'AWS_WEB_IDENTITY_TOKEN_FILE' },
  alicloud: {
    audience: 'sts.aliyuncs.com',
    arn: 'ALIBABA_CLOUD_ROLE_ARN',
    tokenFile: 'ALIBABA_CLOUD_OIDC_TOKEN_FILE',
    oidcProvider: 'ALIBABA_CLOUD_OIDC_PROVIDER_ARN',
  },
}

const arn = (doc: string) =>
  str(doc, { min: 8, max: 512, pattern: '^[\\x21-\\x7e]+$', expects: 'a name without spaces' })

const providerPod = obj('A provider in a pod of its own.', {
  name: str('Which provider: aws, alicloud or another one of docs/reference/providers.md.', {
    min: 1,
    max: 32,
    pattern: '^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$',
    expects: 'lower-case letters, digits and "-", starting with a letter',
  }),
  options: freeform('Its options, as in the providers file. Relative paths begin at /etc/kubenode.', {
    maxBytes: MAX_OPTIONS,
  }),
  orphans: optional(choice('What is done with hosts that belong to no Machine.', ['Report', 'Delete'])),
  role: optional(
    obj('The role of the cloud that the pod gets by a token of its account, in place of a key.', {
      arn: arn('The role.'),
      oidcProvider: optional(arn('At Alibaba Cloud: the identity provider of this cluster.')),
    }),
  ),
  secrets: fallback(
    setOf(
      'Secrets in kubenode-system that are mounted in this pod only, each at /etc/kubenode/secrets/NAME.',
      objectName('A Secret.'),
      { max: 8 },
    ),
    [],
  ),
  servingSecret: optional(
    objectName('Secret with ca.crt, tls.crt, tls.key and token, when kubenode install is not to make one.'),
  ),
  reach: fallback(egress('What the pod may reach beside DNS; every address on 443 when empty.'), []),
  resources: resources('What it needs.', 50, 192),
})
export type ProviderPod = Out<typeof providerPod>

const pem = (doc: string) => str(doc, { min: 1, max: MAX_PEM, pattern: '^-----BEGIN ', expects: 'PEM' })

export const providerPods = fallback(
  list('Providers that run in pods of their own; the controllers hold none of their keys.', providerPod, {
    max: MOST_PODS,
  }),
  [],
)

/** Made by `kubenode install`, and kept by it from one run to the next. */
export const providerKeys = fallback(
  map(
    'By provider: what controllers and its pod know each other by. Made by kubenode install.',
    obj('Keys of one provider.', {
      ca: pem('Authority of the certificate.'),
      cert: pem('Certificate.'),
      key: pem('Private key.'),
      token: str('Bearer token.', { min: 32, max: 128, pattern: '^[\\x21-\\x7e]+$', expects: 'a random text' }),
    }),
    { max: MOST_PODS },
  ),
  {},
)

interface ProviderSettings {
  readonly providers?: Readonly<Record<string, unknown>>
  readonly providerPods: readonly ProviderPod[]
  readonly providerKeys: Readonly<Record<string, unknown>>
}

export function providerProblems({ providers, providerPods, providerKeys }: ProviderSettings): readonly Finding[] {
  const others = new Set(namesIn(providers))
  return providerPods.flatMap(({ name, role, servingSecret }, i) => {
    const found: Finding[] = []
    const add = (field: string, message: string) => found.push({ pointer: `/providerPods/${i}${field}`, message })
    if (others.has(name)) add('/name', 'is served already, by an entry before it or by providers')
    others.add(name)
    const takes = CLOUD_ROLES[name]
    if (role !== undefined && takes === undefined)
      add('/role', `is for ${Object.keys(CLOUD_ROLES).join(' and ')} only; name Secrets with keys in secrets`)
    if (
      takes !== undefined &&
      role !== undefined &&
      (takes.oidcProvider === undefined) !== (role.oidcProvider === undefined)
    )
      add('/role/oidcProvider', takes.oidcProvider === undefined ? 'is for alicloud only' : 'is required for alicloud')
    if (servingSecret === undefined && providerKeys[name] === undefined)
      add('/servingSecret', 'is required where no cluster keeps the keys that kubenode install makes (--export)')
    return found
  })
}

/** As Machines name them. */
function namesIn(providers: Readonly<Record<string, unknown>> | undefined): readonly string[] {
  const all: unknown = providers?.['providers']
  return (Array.isArray(all) ? all : []).flatMap((p: unknown) => {
    if (!isObject(p)) return []
    const served = isObject(p['options']) && p['name'] === 'remote' ? p['options']['name'] : p['name']
    return typeof served === 'string' ? [served] : []
  })
}
