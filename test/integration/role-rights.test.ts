// F48: a role whose identity lacks a right gives its lease up and says which right, and the process that has it leads.
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLogger } from '#lib/log.ts'
import { leaseType, type Lease } from '#runtime/lease.ts'
import { clientOf, connectionOf } from '#programs/run/connect.ts'
import { ROLES } from '#programs/all.ts'
import { type Role, runRole } from '#programs/run/role.ts'
import { startEmbedded, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'

const DEPLOY = join(import.meta.dirname, '../../deploy')
const LEASE = { namespace: 'kubenode-system', name: 'kubenode-defender' }
const LEDGER_RULE = /ledgers/

let server: RunningServer
let kubectl: Kubectl
beforeEach(async () => {
  server = await startEmbedded()
  kubectl = new Kubectl(server)
  await kubectl.ok('apply -f', [join(DEPLOY, 'crds')])
  await kubectl.ok('apply -f', [join(DEPLOY, 'install')])
})
afterEach(() => server.stop())

/** A kubeconfig with the account of the Defender. */
async function defenderConfig(): Promise<string> {
  const token = (await kubectl.ok('create token kubenode-defender -n kubenode-system')).trim()
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [
      {
        name: 'c',
        cluster: { server: server.url, 'certificate-authority-data': Buffer.from(server.ca).toString('base64') },
      },
    ],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  }
  const path = join(dirname(server.kubeconfig), 'defender')
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 })
  return path
}

/** Takes the right to write the ledger away from the Defender. */
async function withoutLedger(): Promise<void> {
  const role = JSON.parse(await kubectl.ok('get clusterrole kubenode:defender -o json')) as {
    rules: { resources?: string[]; verbs: string[] }[]
  }
  const rules = role.rules.map((r) =>
    r.resources?.some((x) => LEDGER_RULE.test(x)) === true ? { ...r, verbs: ['get', 'list', 'watch'] } : r,
  )
  await kubectl.ok('patch clusterrole kubenode:defender --type merge -p', [JSON.stringify({ rules })])
}

async function run(kubeconfig: string, signal: AbortSignal, onLeading: () => void = () => undefined) {
  const { config } = await connectionOf(kubeconfig, undefined)
  const role: Role = {
    name: 'defender',
    needs: ROLES.defender.needs,
    setup: () => [{ name: 'works', start: onLeading, stop: () => undefined }],
  }
  const client = clientOf(config, 'test')
  return runRole(role, { client, leaseClient: client, log: silentLogger, listeners: () => [], signal, rightsMs: 200 })
}

async function holder(): Promise<string> {
  const { config } = await connectionOf(server.kubeconfig, undefined)
  const lease: Lease | undefined = await clientOf(config, 'test').get(leaseType, LEASE)
  return lease?.spec?.holderIdentity ?? ''
}

test('a Defender that may not write the ledger names the right and leaves the lease to another one', async () => {
  await withoutLedger()
  const ended = await run(await defenderConfig(), AbortSignal.timeout(60_000))
  expect(ended.reason).toBe('FailedToStart')
  expect(String(ended.error)).toMatch(/KN1307.*not allowed to create defenderledgers in API group kubenode\.io/)
  expect(await holder()).toBe('')
  const stop = new AbortController()
  const other = await run(server.kubeconfig, stop.signal, () => stop.abort())
  expect(other.reason).toBe('Stopped')
})

test('a Defender that loses the right while it leads gives the lease up and says so', async () => {
  let lead: () => void = () => undefined
  const leads = new Promise<void>((resolve) => void (lead = resolve))
  const running = run(await defenderConfig(), AbortSignal.timeout(200_000), lead)
  await leads
  expect(await holder()).not.toBe('')
  await withoutLedger()
  const ended = await running
  expect(ended.reason).toBe('RightLost')
  expect(String(ended.error)).toMatch(/not allowed to (create|update) defenderledgers/)
  expect(await holder()).toBe('')
})
