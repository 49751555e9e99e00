// The age keys in the Secret that a FleetSource names in spec.decryption.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { secretOf } from '../git/access.ts'
import { syncErrors } from '../sync-errors.ts'
import { type AgeIdentity, parseIdentities } from './age.ts'

/** By provider: which entries contain keys, named as in other GitOps tools. */
const ENTRIES: Readonly<Partial<Record<string, RegExp>>> = { sops: /\.agekey$/ }

/** Keys are never part of a message. */
export async function identitiesOf(
  source: FleetSource,
  secret: KubeObject | undefined,
): Promise<readonly AgeIdentity[]> {
  const { provider = '', secretRef: { name } = { name: '' } } = source.spec.decryption ?? {}
  const entry = Object.hasOwn(ENTRIES, provider) ? ENTRIES[provider] : undefined
  // The CRDs may be newer than sync: another provider's keys and files are never read as this one's.
  if (entry === undefined) {
    const values = { source: namespacedName(source), provider, known: Object.keys(ENTRIES).join(' or ') }
    throw new KubeNodeError(syncErrors.KN7137(values), { retry: 'later' })
  }
  const at = secretOf(source, { name })
  const refuse = (why: string) => {
    const values = { source: namespacedName(source), secret: `${at.namespace}/${at.name}`, why }
    return new KubeNodeError(syncErrors.KN7134_secret(values), { retry: 'later' })
  }
  if (secret === undefined) throw refuse('does not exist')
  const type = secret['type'] ?? 'Opaque'
  if (type !== 'Opaque') throw refuse(`has the type ${String(type).slice(0, 80)}, which is not for keys of age`)
  const data = isObject(secret['data']) ? secret['data'] : {}
  const entries = Object.entries(data).filter(([key]) => entry.test(key))
  const identities: AgeIdentity[] = []
  for (const [key, value] of entries)
    try {
      identities.push(...(await parseIdentities(Buffer.from(String(value), 'base64').toString('utf8'))))
    } catch (error) {
      throw refuse(`${messageOf(error)}, in ${key.slice(0, 100)}`)
    }
  if (identities.length === 0) throw refuse('has no key of age in an entry that ends in .agekey')
  return identities
}
