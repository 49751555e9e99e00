// Every identity of the table in docs/operations/security.md is tried by an attack: the list here says which file has the attempts.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './source-files.ts'

/** The begin of the first cell of a row → files of tests with attempts by this identity, and words of one of them; or the reason why nothing can be tried. */
const TRIED: Readonly<Record<string, readonly (readonly [file: string, words: string])[] | string>> = {
  'kubelet (`system:node:<node>`)': [
    ['attacks/kubelet-key', 'a kubelet notes on its Node'],
    ['attacks/held-up-removal', 'by pods that never end'],
  ],
  'agent (`kubenode:agent:<machine>`)': [
    ['attacks/agent-key', 'deletes its Machine'],
    ['attacks/held-up-removal', 'by never leaving'],
  ],
  'the key of an agent whose Machine was deleted': [['attacks/agent-key', 'with the key of a deleted Machine']],
  'a revoked key': [['attacks/revoked-agent', 'the revoked key']],
  'token of an agent that is a service account': [['attacks/agent-account', 'an agent makes']],
  'the key of a host whose agent is a service account': [
    ['attacks/agent-account', 'a revoked agent writes the status'],
  ],
  'join token': [['attacks/quiet-keys', 'a join token']],
  'a key for joining hosts over SSH': [
    ['integration/ssh-join', 'without the label of its owner opens no host'],
    ['attacks/person', 'lets a key that they may not use log in'],
  ],
  'a rescue key': [
    ['attacks/rescue-key', 'no shell, no terminal'],
    ['attacks/person', 'they name a rescue key that they may not use'],
  ],
  'sync on a member': [
    ['attacks/program-keys', 'the key of sync on a member'],
    ['attacks/trust-zones', 'the key of sync makes a namespace'],
  ],
  'sync on the hub': [
    ['attacks/program-keys', 'the key of sync'],
    ['attacks/render-jobs', 'the key of sync gives a render Job'],
  ],
  'cluster, on the hub': [
    ['attacks/program-workloads', 'tryOnServers'],
    ['attacks/control-plane-namespaces', 'a label that it puts on a namespace of a person is refused'],
  ],
  'a source (`kubenode:source': [['attacks/second-tenant', 'the source of a tenant']],
  controllers: [
    ['attacks/program-keys', 'the key of controllers'],
    ['attacks/revoked-agent', 'the key of controllers'],
  ],
  approver: [['attacks/program-keys', 'the key of the approver']],
  'artifacts (`kubenode:artifacts`)': [['attacks/quiet-keys', "formsOf('artifacts')"]],
  'history (`kubenode:history`)': [['attacks/quiet-keys', "formsOf('history')"]],
  'console (`kubenode:console`)': [
    ['attacks/quiet-keys', "formsOf('console')"],
    ['attacks/console-proxy', 'nothing but the proxy reaches the page'],
  ],
  Defender: [
    ['attacks/program-keys', 'the key of the Defender'],
    ['attacks/deleted-guards', 'all admission policies'],
  ],
  'a neighbor in the network': [['attacks/network', 'silent connections']],
  'webhook (its TLS key': [['attacks/network', 'three forged reviews']],
  'host of control planes, on the hub':
    'of the hub it has neither a key nor a token, so there is nothing that a request could try',
  'hub (its API server or its data)': 'it can do everything that the hub can; the table says so',
  'who may write one FleetSource': [['attacks/source-author', 'who may write one FleetSource']],
  'who may write Clusters, Releases or ReleasePipelines': [['attacks/cluster-author', 'who may write Clusters']],
  'the administrator of a cluster whose control plane the hub runs': [['attacks/stuck-planes', 'test(']],
  'a tenant of a namespace, on the embedded server': [
    ['attacks/exhaustion', 'without a right cost what has arrived'],
    ['attacks/validation-floods', 'a pattern of a million instructions'],
  ],
  'a tenant of a namespace': [['attacks/second-tenant', 'a tenant']],
  'a person with every right in `kubenode-system`': [['attacks/second-tenant', 'the administrator of our namespace']],
  'a person who may write holds': [['attacks/person', 'who may write holds']],
  'a person who may approve': [['attacks/approvals-and-reverts', 'of the release before']],
  'a person who may read logs': [['attacks/logs', 'who may read logs']],
  'a commit author whose commits are not signed': [
    ['attacks/signed-commits', 'a commit author without a key: unsigned'],
  ],
  'who may push a branch': [
    [
      'integration/preview-identity',
      'is accepted by the cluster of its branch, and by neither the hub nor the cluster of another branch',
    ],
  ],
  'a commit author': [['attacks/commit-author', 'its code calls process']],
}

const identities =
  /\n## Identities\n[^]*?\n\n((?:\|[^\n]*\n)+)/.exec(
    readFileSync(join(ROOT, 'docs/operations/security.md'), 'utf8'),
  )?.[1] ?? ''
const rows = identities
  .trimEnd()
  .split('\n')
  .slice(2)
  .map((line) => (line.split(' | ')[0] ?? '').replace(/^\| /, ''))

/** The longest that the cell begins with: several identities begin alike. */
const keyOf = (row: string): string | undefined =>
  Object.keys(TRIED)
    .filter((key) => row.startsWith(key))
    .toSorted((a, b) => b.length - a.length)[0]

test('every row of the table has attempts or a reason, and each of these has a row', () => {
  expect(rows.length).toBeGreaterThan(20)
  expect(rows.map((row) => keyOf(row) ?? `not tried: ${row}`).toSorted()).toEqual(Object.keys(TRIED).toSorted())
})

test('the attempts are there', () => {
  const missing = Object.entries(TRIED).flatMap(([identity, tried]) =>
    typeof tried === 'string'
      ? []
      : tried.flatMap(([file, words]) => {
          const path = join(ROOT, 'test', `${file}.test.ts`)
          return existsSync(path) && readFileSync(path, 'utf8').includes(words)
            ? []
            : [`${identity}: ${file}: ${words}`]
        }),
  )
  expect(missing).toEqual([])
})
