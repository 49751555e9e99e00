// `kubectl kubenode …` and its completion, through the real kubectl that finds the programs of bin on the PATH.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { machine } from '#api/kinds/machine.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { clientOf, connectionOf } from '#programs/run/connect.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'

const BIN = join(import.meta.dirname, '../../bin')

let server: RunningServer
let kubectl: Kubectl
beforeAll(async () => {
  server = await startEmbedded()
  const client = clientOf((await connectionOf(server.kubeconfig)).config, 'test')
  await installAll(client)
  const { spec } = machine.example
  const made = { apiVersion: API_GROUP_VERSION, kind: machine.kind, metadata: { name: 'worker-1' }, spec }
  await client.create<KubeObject>(machine, made)
  client.close()
  kubectl = new Kubectl(server)
})
afterAll(() => server?.stop())

const withPlugin = { env: { PATH: `${BIN}:${process.env['PATH'] ?? ''}` } }

test('kubectl runs the plugin with the same kubeconfig, and passes on its exit code and its errors', async () => {
  expect(await kubectl.ok('kubenode get machines -o name', [], withPlugin)).toBe('machine.kubenode.io/worker-1\n')
  const { code, err } = await kubectl.run('kubenode get machine wroker-1', [], withPlugin)
  expect([code, err]).toEqual([2, expect.stringContaining('did you mean machine/worker-1?')])
})

test('kubectl asks the plugin what may follow', async () => {
  const completed = async (words: string, last = ''): Promise<readonly string[]> => {
    const out = await kubectl.ok(`__complete kubenode ${words}`, [last], withPlugin)
    return out.split('\n').map((line) => line.split('\t')[0] ?? '')
  }
  expect(await completed('get', 'machinec')).toEqual(['machinecomponents', 'machinecomponentsets', ':4', ''])
  expect(await completed('pause', 'ma')).toEqual(['machine/', 'machineset/', ':6', ''])
  expect((await completed('lint')).at(-2)).toBe(':0')
  // A loaded machine may take longer for an answer than a person waits.
  await expect.poll(() => completed('get machine', 'w')).toEqual(['worker-1', ':4', ''])
})
