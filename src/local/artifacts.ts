// Packs the components of one commit into the artifact folder of the local fleet, and holds them to their signed statements.
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { createValidator } from '#api/validate.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { copyWholeFile } from '#lib/whole-file.ts'
import { provideFromDebian, type DebianStore } from './debian.ts'
import { localErrors } from './local-errors.ts'

export type Pack = (folder: string, target: string) => Promise<{ readonly sha256: string }>

export const TRUST_FILE = 'trust.json'

/** `root` holds the files of the commit. Packing is reproducible, so the digests must be those that were signed. Answers how many versions can be installed. */
export async function provideArtifacts(
  root: string,
  artifacts: string,
  pack: Pack,
  debian?: Omit<DebianStore, 'artifacts'>,
  signal?: AbortSignal,
): Promise<number> {
  const components = join(root, 'fleet/components')
  const validator = createValidator()
  const statements = readdirSync(components)
    .filter((f) => f.endsWith('.json'))
    .sort()
  const serveTrust = (): void => copyWholeFile(join(components, 'trust', TRUST_FILE), join(artifacts, TRUST_FILE))
  // Controllers do not start without one, and at the first start packing may take minutes. A newer one waits for what is packed with it.
  if (!existsSync(join(artifacts, TRUST_FILE))) serveTrust()
  let absent = 0
  for (const file of statements) {
    const statement = validator.parse(machineComponent, JSON.parse(readFileSync(join(components, file), 'utf8')))
    const { component, version, artifacts: list = [] } = statement.spec
    const source = join(components, component, version)
    if (!existsSync(source)) {
      // What lies elsewhere is fetched from there by the agents.
      if (debian === undefined) continue
      for (const { url, sha256, size } of list)
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
          localErrors.KN1207({
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
  // Agents and controllers read it at any moment.
  serveTrust()
  return statements.length - absent
}
