// A kind's CRD as a file to apply.
import { stringify } from 'yaml'
import { crdOf } from '../crd.ts'
import type { ApiKind } from '../kind.ts'

/** kubectl reads YAML 1.1, where a bare Off or Yes is a boolean. */
const FORM = { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' } as const

export const crdYaml = (kind: ApiKind): string =>
  `# Generated from src/api by npm run gen.\n${stringify(crdOf(kind), FORM)}`
