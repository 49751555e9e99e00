// Packs the components of one commit into the local fleet's artifact folder and checks them against their signed statements.
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { createValidator } from '#api/validate.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { kubernetesArch } from '#lib/kubernetes-arch.ts'
import { copyWholeFile } from '#lib/whole-file.ts'
import { provideFromDebian, type DebianStore } from '#providers/nspawn/debian.ts'
import { localErrors } from './local-errors.ts'
import { debianErrors } from '#providers/nspawn/debian-errors.ts'

export type Pack = (folder: string, target: string) => Promise<{ readonly sha256: string }>

export const TRUST_FILE = 'trust.json'

export interface Provided {
  /** Holds the files of the commit. */
  readonly root: string
  /** Where agents find them. */
  readonly artifacts: string
  readonly pack: Pack
  /** Source of components that are in no commit; undefined where no machine needs them. */
  readonly debian?: Omit<DebianStore, 'artifacts'>
  /** A user's folder of archives that are in no commit. */
  readonly packed?: string
  readonly print: (line: string) => void
  readonly signal?: AbortSignal
}

/** Packing is reproducible, so the digests must match the signed ones. Returns how many versions can be installed. */
export async function provideArtifacts(provided: Provided): Promise<number> {
  const { root, artifacts, pack, debian, packed: archives, signal } = provided
  const components = join(root, 'fleet/components')
  if (!existsSync(join(components, 'trust', TRUST_FILE)))
    throw new KubeNodeError(localErrors.KN1232({ file: `fleet/components/trust/${TRUST_FILE}` }))
  const validator = createValidator()
  const statements = readdirSync(components)
    .filter((f) => f.endsWith('.json'))
    .sort()
  const serveTrust = (): void => copyWholeFile(join(components, 'trust', TRUST_FILE), join(artifacts, TRUST_FILE))
  // Controllers need a trust document to start, and the first packing may take minutes. A newer document waits for the artifacts packed with it.
  if (!existsSync(join(artifacts, TRUST_FILE))) serveTrust()
  let absent = 0
  for (const file of statements) {
    const statement = validator.parse(machineComponent, JSON.parse(readFileSync(join(components, file), 'utf8')))
    const { component, version, artifacts: list = [] } = statement.spec
    const source = join(components, component, version)
    if (!existsSync(source)) {
      if (archives !== undefined) {
        if (!(await copiedFrom(archives, { component, version, list }, provided))) absent++
        continue
      }
      // Agents fetch artifacts stored elsewhere from their own URL.
      if (debian === undefined) continue
      // Machines of this host have its processor, and apt fetches packages for it alone.
      for (const { url, sha256, size } of list.filter(({ arch }) => arch === 'any' || arch === kubernetesArch()))
        if (!(await provideFromDebian({ component, version, url, sha256, size }, { ...debian, artifacts }, signal)))
          absent++
      continue
    }
    for (const { url, sha256 } of list) {
      const target = join(artifacts, url)
      mkdirSync(dirname(target), { recursive: true })
      const packed = await pack(source, target)
      if (packed.sha256 !== sha256) {
        throw new KubeNodeError(
          debianErrors.KN1108_source({
            component,
            version,
            source,
            packedDigest: packed.sha256.slice(0, 12),
            file,
            signedDigest: sha256.slice(0, 12),
          }),
        )
      }
    }
  }
  // Agents and controllers may read it at any time.
  serveTrust()
  return statements.length - absent
}

interface Archives {
  readonly component: string
  readonly version: string
  readonly list: readonly { readonly url: string; readonly sha256: string }[]
}

/** False if an archive is missing: agents cannot install that version. The missing archive is reported and everything else is served. */
async function copiedFrom(
  folder: string,
  { component, version, list }: Archives,
  { artifacts, print }: Pick<Provided, 'artifacts' | 'print'>,
): Promise<boolean> {
  let isWhole = true
  // Archives with their own URL are fetched from there.
  for (const { url, sha256 } of list.filter((a) => !URL.canParse(a.url))) {
    const [from, to] = [join(folder, url), join(artifacts, url)]
    if (existsSync(to) && (await digestOfFile(to)) === sha256) continue
    const found = existsSync(from) ? await digestOfFile(from) : undefined
    if (found === sha256) {
      mkdirSync(dirname(to), { recursive: true })
      copyWholeFile(from, to)
      continue
    }
    isWhole = false
    const why = found === undefined ? `${from} is missing` : `${from} is not the archive that was signed`
    print(`note: no machine can install ${component} ${version}: ${why}; make it with kubenode artifact from-… or pack`)
  }
  return isWhole
}

async function digestOfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}
