// The plan of a commit that bumps one version, deletes a machine and loosens a budget; and such a bump as a prepared commit.
import type { PlanAnswer } from '#console/plan.ts'
import type { ChangeRequest, PreparedCommit } from '#console/prepared.ts'
import { NOW } from './fixtures.ts'

const COMMIT = '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e'
const BASE = '8be1d07aa7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8'

export const plan: PlanAnswer = {
  commit: '3f1c9e0a7b5d',
  record: [
    {
      object: { cluster: 'hub', kind: 'Release', namespace: 'fleet', name: 'machines-3f1c9e0a7b5d' },
      source: 'fleet',
      track: 'machines',
      phase: 'Progressing',
      after: BASE,
      changed: ['prod', 'test'],
      clusters: 3,
      deletions: [
        {
          text: 'prod: deletes 1 machine and 1 object (limit 0), the first is machine n-9; digest sha256:77c1',
          command: 'kubenode approve release/machines-3f1c9e0a7b5d --reason WHY --context hub',
        },
      ],
    },
  ],
  certain: {
    state: 'Made',
    value: {
      commit: COMMIT,
      base: BASE,
      subject: 'beacon 1.2.0',
      author: 'Ada <ada@example.org>',
      at: NOW - 40 * 60_000,
      summary: 'deletes 1 machine · loosens gates or limits · 2 clusters · machines unknown',
      digest: 'sha256:1d0e4fd5a5c4e5a1be8f0c77f6ab1d0e4fd5a5c4e5a1be8f0c77f6ab1d0e4fd5',
      signature: 'signed with SHA256:abc',
      red: [{ text: 'prod: deletes 1 machine: n-9' }],
      orange: ['Loosens policy careful in prod: unavailable 1 → 3'],
      clusters: [
        {
          id: 'prod',
          clusters: ['prod', 'test'],
          added: 0,
          changed: 1,
          removed: 1,
          unchanged: 40,
          objects: [
            {
              change: 'changed',
              object: 'MachineComponentSet.kubenode.io/base',
              fields: ['spec.components[beacon].version: "1.1.0" → "1.2.0"'],
              more: 0,
            },
            { change: 'removed', object: 'Machine.kubenode.io/n-9', fields: [], more: 0 },
          ],
          moreObjects: 0,
          lines: [
            { tone: 'head', text: '--- prod/MachineComponentSet.kubenode.io/base' },
            { tone: 'head', text: '+++ prod/MachineComponentSet.kubenode.io/base' },
            { tone: 'place', text: '@@ -8,3 +8,3 @@' },
            { tone: 'same', text: '     - name: beacon' },
            { tone: 'removed', text: '-      version: 1.1.0' },
            { tone: 'added', text: '+      version: 1.2.0' },
          ],
          moreLines: 3,
        },
      ],
    },
  },
  predicted: {
    state: 'Made',
    value: {
      takenAt: NOW - 30_000,
      sentence: '4 machines, 1 drain, 0 reboots, 18 min to 25 min, at most 1 unavailable at once, risk medium',
      clusters: [
        {
          id: 'prod',
          stage: 'prod',
          cluster: 'prod',
          machines: 4,
          of: 4,
          steps: '1·3',
          drains: 1,
          reboots: 0,
          time: '18 min to 25 min',
          slowedBy: 'budget careful (6 min)',
        },
      ],
      warnings: ['unknown: no inventory of edge was given'],
      notes: ['way back: git revert, about 12 min'],
    },
  },
  commands: ['kubenode plan 8be1d07..3f1c9e0a7b5d', 'kubenode diff 8be1d07..3f1c9e0a7b5d'],
}

/** The bump alone, for a repository that is pushed to with a token. */
export const prepared: PreparedCommit = {
  id: COMMIT,
  base: BASE,
  url: 'https://git.example.org/platform/fleet.git',
  follows: 'main',
  branch: 'kubenode/beacon-1.2.0',
  message: 'beacon 1.2.0',
  patch: `From ${COMMIT} Mon Sep 17 00:00:00 2001
From: Ada <ada@example.org>
Date: Sat, 31 Jan 2026 12:00:00 +0000
Subject: [PATCH] beacon 1.2.0

Reason: a fix
---
diff --git a/fleet/versions.json b/fleet/versions.json
--- a/fleet/versions.json
+++ b/fleet/versions.json
@@ -1,4 +1,4 @@
 {
-  "beacon": "1.1.0",
+  "beacon": "1.2.0",
   "scribe": "1.0.0"
 }
`,
  lines: [
    { tone: 'head', text: '--- a/fleet/versions.json' },
    { tone: 'head', text: '+++ b/fleet/versions.json' },
    { tone: 'place', text: '@@ -1,4 +1,4 @@' },
    { tone: 'same', text: ' {' },
    { tone: 'removed', text: '-  "beacon": "1.1.0",' },
    { tone: 'added', text: '+  "beacon": "1.2.0",' },
    { tone: 'same', text: '   "scribe": "1.0.0"' },
    { tone: 'same', text: ' }' },
  ],
  plan: {
    commit: COMMIT,
    base: BASE,
    subject: 'beacon 1.2.0',
    author: 'Ada',
    at: NOW,
    summary: '1 object changes in 2 clusters · machines unknown',
    digest: 'sha256:1d0e4fd5a5c4e5a1be8f0c77f6ab1d0e4fd5a5c4e5a1be8f0c77f6ab1d0e4fd5',
    red: [],
    orange: [],
    clusters: [
      {
        id: 'prod',
        clusters: ['prod', 'test'],
        added: 0,
        changed: 1,
        removed: 0,
        unchanged: 41,
        objects: [
          {
            change: 'changed',
            object: 'MachineComponentSet.kubenode.io/base',
            fields: ['spec.components[beacon].version: "1.1.0" → "1.2.0"'],
            more: 0,
          },
        ],
        moreObjects: 0,
        lines: [],
        moreLines: 0,
      },
    ],
  },
  warnings: [],
  needsToken: true,
}

const MEANT = ['beacon stays at 1.1.0, set base declares 1.2.0; 1 repair in progress: what was permitted finishes']

/** As the change asks for it. */
export function preparedAs(body: unknown): PreparedCommit {
  const { change } = body as { readonly change: ChangeRequest }
  if (change.kind !== 'Protect' && change.kind !== 'Unprotect') return prepared
  const machines = change.machines.map((machine, i) => ({ machine, text: MEANT[i] ?? 'nothing is due on it now' }))
  return { ...prepared, message: `prod: protect ${machines.length} machines`, machines }
}
