// Secrets that a commit only has encrypted: the file replaces what the render answered, and sync adds the values if it has the key.
import { SEALED_SECRET } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { messageOf, numbered } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { printableLine } from '#lib/printable.ts'
import type { DesiredObject, Rejected, RenderedTarget, Targets } from '#delivery/desired.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { AgeIdentity } from '../sops/age.ts'
import { isPlace, openSecret, PLACES_ENTRY, sealedSecret, type OpenedSecret } from '../sops/sealed-secret.ts'
import { syncErrors } from '../sync-errors.ts'

export interface Decryption {
  readonly identities: readonly AgeIdentity[] | undefined
  /** Accept only files that list the clusters they are for. */
  readonly requirePlaces?: boolean
}

export type SealedFiles = ReadonlyMap<string, string>

export type Unsealed = { readonly file: string; readonly object: KubeObject } | { readonly problem: string }

export const NO_SEALED_FILES: SealedFiles = new Map()

/** Undefined for every other object. Each file is read once, however many clusters use it. */
export function unsealing(files: SealedFiles): (value: unknown) => Unsealed | undefined {
  const known = new Map<string, Unsealed>()
  return (value) => {
    if (!isObject(value) || value['apiVersion'] !== SEALED_SECRET.apiVersion || value['kind'] !== SEALED_SECRET.kind)
      return undefined
    const file = String(value['file']).slice(0, 1_000)
    const found = known.get(file) ?? read(file, files.get(file))
    known.set(file, found)
    return found
  }
}

function read(file: string, text: string | undefined): Unsealed {
  const name = printableLine(JSON.stringify(file))
  if (text === undefined) return { problem: `names ${name}, which the commit does not have` }
  try {
    return { file, object: sealedSecret(text) }
  } catch (error) {
    return { problem: `names ${name}, which ${messageOf(error)}` }
  }
}

/** sops values outside the file they were encrypted in: they could never be opened. */
export const hasSealedValue = (json: string): boolean => json.includes('"ENC[AES256_GCM,')

/** The targets with the values of their Secrets. A Secret that cannot be opened is neither applied nor deleted, like other invalid objects. */
export async function openTargets(targets: Targets, files: SealedFiles, decryption: Decryption): Promise<Targets> {
  const known = new Map<string, OpenedSecret | string>()
  const opened = async (file: string): Promise<OpenedSecret | string> => {
    const found = known.get(file) ?? (await open(file, files.get(file) ?? '', decryption.identities))
    known.set(file, found)
    return found
  }
  const out = new Map<string, RenderedTarget>()
  for (const [name, { objects, rejected }] of targets) {
    const [good, bad]: [DesiredObject[], Rejected[]] = [[], []]
    for (const desired of objects) {
      const { ref, place, sealed } = desired
      if (sealed === undefined) {
        good.push(desired)
        continue
      }
      const found = await opened(sealed)
      const problem = typeof found === 'string' ? found : placeProblem(sealed, name, found, decryption)
      if (problem !== undefined) bad.push({ ref, problem, ...defined({ place }) })
      else if (typeof found !== 'string') good.push({ ...desired, object: found.object })
    }
    out.set(name, bad.length === 0 ? { objects: good, rejected } : { objects: good, rejected: [...rejected, ...bad] })
  }
  return out
}

/** The places are values of the Secret, so they are not shown. */
function placeProblem(
  file: string,
  cluster: string,
  { object, places }: OpenedSecret,
  { requirePlaces = false }: Decryption,
): string | undefined {
  const name = printableLine(file)
  if (places === undefined)
    return requirePlaces ? numbered(syncErrors.KN7138({ file: name, why: `has no entry ${PLACES_ENTRY}` })) : undefined
  if (places.some((line) => isPlace(line, cluster, object))) return undefined
  const { namespace = '', name: secret = '' } = object.metadata
  const why = `is not for Secret ${namespace}/${secret} of cluster ${cluster}`
  return numbered(syncErrors.KN7138({ file: name, why }))
}

async function open(
  file: string,
  text: string,
  identities: readonly AgeIdentity[] | undefined,
): Promise<OpenedSecret | string> {
  const name = printableLine(file)
  if (identities === undefined) return numbered(syncErrors.KN7134({ file: name }))
  try {
    return await openSecret(text, identities)
  } catch (error) {
    return numbered(syncErrors.KN7133({ file: name, why: printableLine(messageOf(error)) }))
  }
}
