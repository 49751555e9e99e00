// The configuration of agents is the one object of our own namespace that a commit may declare: with the rights of the install manifests, nothing else passes.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AGENT_CONFIG_MAP, agentConfigData } from '#api/agent-config/agent-config-map.ts'
import { FIELD_MANAGERS, SYSTEM_NAMESPACE, programUser } from '#api/names.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { installAll } from '#test/support/servers/installed.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { withoutUnlisted } from '#sync/cluster/listed.ts'
import { refOf } from '#delivery/object-ref.ts'
import { createApiServer, type ApiServer } from '#apiserver/api-server.ts'
import { CONFIG_MAP } from '#test/support/benches/sync-bench.ts'

let server: ApiServer
const clients: HttpKubeClient[] = []
function clientAs(user?: string): HttpKubeClient {
  const { config } = parseSafeKubeconfig(server.adminKubeconfig(), 'test')
  const client = new HttpKubeClient(user === undefined ? config : { ...config, impersonate: { user } })
  clients.push(client)
  return client
}

beforeAll(async () => {
  server = await createApiServer()
  await server.listen()
  await installAll(clientAs())
})
afterAll(async () => {
  for (const client of clients) client.close()
  await server?.close()
})

const configMap = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { ...AGENT_CONFIG_MAP, name },
  data: agentConfigData({ lease: '5s' }),
})
const desired = (object: KubeObject) => ({ ref: refOf(object), object, digest: 'd' })

test('sync applies and deletes it, and no other ConfigMap of our namespace', async () => {
  const sync = clientAs(programUser('sync'))
  const [ours, other] = [configMap(AGENT_CONFIG_MAP.name), configMap('other')]
  const { objects, rejected } = await withoutUnlisted(sync, { objects: [desired(ours), desired(other)], rejected: [] })
  expect(objects.map((o) => o.ref.name)).toEqual([AGENT_CONFIG_MAP.name])
  expect(rejected.map((r) => r.ref.name)).toEqual(['other'])
  const by = { fieldManager: FIELD_MANAGERS.sync }
  await sync.apply(CONFIG_MAP, ours, by)
  await sync.apply(CONFIG_MAP, { ...ours, data: agentConfigData({ lease: '6s' }) }, by)
  await expect(sync.apply(CONFIG_MAP, other, by)).rejects.toThrow(/not on the list of the installer/)
  const controllers = clientAs(programUser('controllers'))
  const seen = await controllers.list(CONFIG_MAP, {
    namespace: SYSTEM_NAMESPACE,
    fieldSelector: `metadata.name=${AGENT_CONFIG_MAP.name}`,
  })
  expect(seen.items.map((o) => o['data'])).toEqual([agentConfigData({ lease: '6s' })])
  await sync.delete(CONFIG_MAP, AGENT_CONFIG_MAP)
})
