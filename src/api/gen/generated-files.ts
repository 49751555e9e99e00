// Everything generated from the kinds, by path in the repository. Pure: other code writes it.
import type { ApiKind } from '../kind.ts'
import { KINDS } from '../kinds.ts'
import { crdYaml } from './crd-yaml.ts'
import { protocolPage } from './protocol-page.ts'
import { conditionsPage, indexPage, referencePage } from './reference.ts'

/** Directories with generated files only; a file that is not generated here is stale. */
export const GENERATED_DIRECTORIES = ['deploy/crds', 'docs/reference'] as const

export function generatedFiles(kinds: readonly ApiKind[] = KINDS): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const kind of kinds) {
    files.set(`deploy/crds/${kind.plural}.yaml`, crdYaml(kind))
    files.set(`docs/reference/${kind.kind.toLowerCase()}.md`, referencePage(kind))
  }
  files.set('docs/reference/README.md', indexPage(kinds))
  files.set('docs/reference/conditions.md', conditionsPage())
  files.set('docs/reference/protocol.md', protocolPage())
  return files
}
