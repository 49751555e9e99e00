// The CRD of a kind as a file to apply.
import { stringify } from 'yaml'
import { crdOf } from '../crd.ts'
import type { ApiKind } from '../kind.ts'

export const crdYaml = (kind: ApiKind): string =>
  `# Generated from src/api by npm run gen.\n${stringify(crdOf(kind), { lineWidth: 0, aliasDuplicateObjects: false })}`
