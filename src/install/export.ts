// A release as one file for any tool: namespaces and definitions first, workloads last.
import { stringify } from 'yaml'
import { groupsOf, PHASES } from './phases.ts'
import { objectsOf } from './inventory.ts'
import type { Release } from './release.ts'

export const yamlOf = (release: Release): string =>
  PHASES.flatMap((phase) => groupsOf(objectsOf(release), phase).flat())
    .map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n')
