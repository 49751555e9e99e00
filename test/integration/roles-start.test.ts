// What the page of all programs says each role has is what it starts: a name that differs would stop a whole role.
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DEFAULT_BOUNDS } from '#history/record/bounds.ts'
import { loggerTo } from '#lib/log.ts'
import { ROLE_NAMES, type RoleName } from '#programs/all.ts'
import type { RolesConfig } from '#programs/roles/config.ts'
import { clientOf, connectionOf } from '#programs/run/connect.ts'
import { roleNamed } from '#programs/run/role-named.ts'
import { runRole } from '#programs/run/role.ts'
import { startEmbedded, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'

const DEPLOY = join(import.meta.dirname, '../../deploy')
const folder = mkdtempSync(join(tmpdir(), 'kubenode-roles-'))
/** They serve or start something of their own, and have tests of their own. */
const APART: readonly RoleName[] = ['artifacts', 'console', 'hosted']

let server: RunningServer
beforeAll(async () => {
  server = await startEmbedded()
  const kubectl = new Kubectl(server)
  for (const part of ['crds', 'install', 'hub']) await kubectl.ok('apply --server-side -f', [join(DEPLOY, part)])
})
afterAll(() => server.stop())

async function configOf(): Promise<RolesConfig> {
  const { config: connection } = await connectionOf(server.kubeconfig)
  mkdirSync(join(folder, 'cache'), { recursive: true })
  return {
    cluster: 'hub',
    server: server.url,
    ca: () => server.ca,
    providers: [],
    artifactBase: 'file:///nowhere/',
    controlPlanes: join(folder, 'control-planes.sock'),
    connection,
    isHub: true,
    webhook: { at: { host: '127.0.0.1' }, listen: '127.0.0.1', port: 0 },
    cache: join(folder, 'cache'),
    history: { folder: join(folder, 'history'), bounds: DEFAULT_BOUNDS },
    maxRepositoryBytes: 1e6,
    weakCage: 'allow',
    gitEnv: {},
    localRepositories: [],
    gitHosts: [],
    node: process.execPath,
    entries: { agent: 'agent', hollow: 'hollow' },
  } as unknown as RolesConfig
}

const started = ROLE_NAMES.filter((name) => !APART.includes(name))

test.each(started)('role %s starts with the loops of its page', async (name) => {
  const stop = new AbortController()
  const config = await configOf()
  const client = clientOf(config.connection, 'test')
  const ended = await runRole(await roleNamed(name, config, 'test'), {
    client,
    clientAs: () => client,
    leaseClient: client,
    log: loggerTo((_, message) => {
      if (message === 'role is running') stop.abort()
    }),
    listeners: () => [],
    signal: stop.signal,
  })
  expect([ended.reason, ended.error]).toEqual(['Stopped', undefined])
})
