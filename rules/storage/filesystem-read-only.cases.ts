// When the rule for file systems that the agent finds read-only fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { filesystemReadOnly } from './filesystem-read-only.ts'

export const rule = filesystemReadOnly

export const cases: readonly RuleCase[] = [
  {
    name: 'a file system that was writable before',
    conditions: [{ type: 'FilesystemReadOnly', status: 'True' }],
    verdict: 'fires',
  },
  {
    name: 'all are writable',
    conditions: [{ type: 'FilesystemReadOnly', status: 'False' }],
    verdict: 'does not fire',
  },
  { name: 'a node whose agent does not say', verdict: 'unknown' },
]
