// Approval: immutable; records who approved which digest. An admission policy requires `by` and `groups` to match the caller.
import { text, wide } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf } from '../kind.ts'

const spec = s.immutable(
  s.obj('The approval. Immutable.', {
    digest: f.sha256(
      'The approved digest: SHA-256 of the canonical {operations, target UIDs, commit}, or of a list of deletions.',
    ),
    by: s.str('The approving user; must be the user that creates this object.', { min: 1, max: 253 }),
    groups: s.optional(
      s.setOf(
        'Groups of the approver; each must be a group of the user that creates this object.',
        s.str('A group.', { min: 1, max: 253 }),
        {
          max: 64,
        },
      ),
    ),
    of: s.optional(
      s.obj('The object that requested the approval, for information.', {
        kind: s.choice('Its kind.', ['OperationPermit', 'Release', 'FleetSource', 'Inventory']),
        namespace: s.optional(f.dnsLabel('Its namespace, if its kind has one.')),
        name: f.objectName('Its name.'),
      }),
    ),
    reason: s.optional(s.str('Why, for people.', { max: 512 })),
    until: s.optional(s.time('When the approval expires.')),
  }),
  'an Approval is immutable; create another one',
)

export const approval = defineKind('Approval', 'kapp', {
  doc: 'Records who approved which digest. Immutable.',
  spec,
  selectable: ['.spec.digest'],
  columns: [
    text('By', '.spec.by'),
    text('Of', '.spec.of.kind'),
    text('Name', '.spec.of.name'),
    wide(text('Digest', '.spec.digest')),
  ],
  example: {
    metadata: { name: 'reboot-rack-12-ada' },
    spec: {
      digest: 'e8a1f3a29b2f1f6f3b1c8e9b1b2f0d6ad0bcbe6ff4b9e3c1a9a5d6ce9a1c4b77',
      by: 'ada@example.org',
      of: { kind: 'OperationPermit', name: 'reboot-rack-12' },
      reason: 'firmware update agreed with the storage team',
    },
  },
})

export type Approval = ObjectOf<typeof approval>
export type ApprovalInput = InputOf<typeof approval>
