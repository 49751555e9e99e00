// When the rule for read-only file systems fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { readOnlyFilesystem } from './read-only-filesystem.ts'

export const rule = readOnlyFilesystem('ReadonlyFilesystem')

export const cases: readonly RuleCase[] = [
  {
    name: 'a file system that went read-only',
    conditions: [{ type: 'ReadonlyFilesystem', status: 'True', reason: 'FilesystemIsReadOnly' }],
    verdict: 'fires',
  },
  {
    name: 'file systems that can be written',
    conditions: [{ type: 'ReadonlyFilesystem', status: 'False', reason: 'FilesystemIsNotReadOnly' }],
    verdict: 'does not fire',
  },
  {
    name: 'a detector that cannot tell',
    conditions: [{ type: 'ReadonlyFilesystem', status: 'Unknown' }],
    verdict: 'unknown',
  },
]
