// The install manifests with kubectl: two commands on an empty server, each of them once.
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { onlyInFull } from '#test/support/tools/full.ts'
import { startEmbedded, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'

const DEPLOY = join(import.meta.dirname, '../../deploy')
let server: RunningServer
beforeEach(async () => void (server = await startEmbedded()))
afterEach(() => server.stop())

test('kubectl apply succeeds the first time, and again', async () => {
  const kubectl = new Kubectl(server)
  await kubectl.ok('apply -f', [join(DEPLOY, 'crds')])
  expect(await kubectl.ok('apply -f', [join(DEPLOY, 'install')])).toMatch(/^namespace\/kubenode-system created\n/)
  const again = await kubectl.ok('apply -f', [join(DEPLOY, 'install')])
  expect(again.split('\n').filter((line) => line !== '' && !line.endsWith(' unchanged'))).toEqual([])
})

test('kubectl create makes all of it', async (context) => {
  onlyInFull(context)
  const kubectl = new Kubectl(server)
  await kubectl.ok('create -f', [join(DEPLOY, 'install')])
  expect(await kubectl.ok('get serviceaccounts -n kubenode-system -o name')).toMatch(/kubenode-controllers/)
})
