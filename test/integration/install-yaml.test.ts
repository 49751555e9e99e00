// What a release ships: one file that applies in one go, pods that the security level of their namespace accepts, and a kustomize base of the same objects.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { clientOf, connectionOf } from '#programs/run/connect.ts'
import type { HttpKubeClient } from '#kube/http/client.ts'
import { typeOf } from '#kube/installed-type.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { type Body, Requests } from '#test/support/servers/api-requests.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'
import { installObjects } from '../../deploy/charts/install.ts'
import { releasedSettings } from '../../deploy/charts/release-files.ts'

const DEPLOY = join(import.meta.dirname, '../../deploy')
const FILE = join(DEPLOY, 'install.yaml')

interface Template extends KubeObject {
  readonly spec: { readonly template: { readonly metadata: object; readonly spec: { readonly containers: object[] } } }
}
const deployments = installObjects(releasedSettings()).filter((o): o is Template => o.kind === 'Deployment')

const MANAGER = 'kubenode-install'
const objectsIn = (text: string): readonly KubeObject[] => parseAllDocuments(text).map((d) => d.toJS() as KubeObject)

describe.each(apiServers)('install.yaml on $name', ({ start }) => {
  let server: RunningServer
  let client: HttpKubeClient
  let api: Requests
  beforeAll(async () => {
    server = await start()
    client = clientOf((await connectionOf(server.kubeconfig)).config, 'install-test')
    api = new Requests(server)
  })
  afterAll(async () => {
    api.close()
    client.close()
    await server.stop()
  })
  /** One after the other, as it is written; when the installer last changed each object, and how often its specification changed. */
  async function applied(): Promise<readonly object[]> {
    const answers: object[] = []
    for (const o of objectsIn(readFileSync(FILE, 'utf8'))) {
      const { metadata } = await client.apply(typeOf(o), o, { fieldManager: MANAGER })
      const { name, generation, managedFields = [] } = metadata
      answers.push({ kind: o.kind, name, generation, ours: managedFields.filter((f) => f.manager === MANAGER) })
    }
    return answers
  }

  test('applies in the order of the file, and once more without a change', async () => {
    const first = await applied()
    expect(await applied()).toEqual(first)
  })

  const pods = '/api/v1/namespaces/kubenode-system/pods'
  const tried = (pod: object): Promise<{ readonly code: number; readonly body: Body }> =>
    api.send('POST', `${pods}?dryRun=All`, pod)
  const podOf = ({ spec: { template } }: Template): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...template.metadata, generateName: 'try-' },
    spec: template.spec,
  })

  test.each(deployments.map((d) => [d.metadata.name ?? '', d] as const))(
    'a pod of %s passes the restricted level of its namespace',
    async (_, deployment) => {
      const { code, body } = await tried(podOf(deployment))
      expect([code, body.message]).toEqual([201, undefined])
    },
  )

  test('a pod that keeps its capabilities does not pass', async () => {
    const [deployment] = structuredClone(deployments)
    const [container] = deployment?.spec.template.spec.containers ?? []
    Object.assign(container ?? {}, { securityContext: { allowPrivilegeEscalation: false } })
    const { code, body } = await tried(podOf(deployment as Template))
    expect([code, body.message]).toEqual([403, expect.stringContaining('violates PodSecurity "restricted:latest"')])
  })
})

describe('the kustomize base', () => {
  let folder: string
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'kubenode-kustomize-'))))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  /** kubectl kustomize talks to no server. */
  const kubectl = new Kubectl({ kubeconfig: '/nowhere/kubeconfig' } as RunningServer)

  test('renders the objects of install.yaml', async () => {
    const built = await kubectl.ok('kustomize', [join(DEPLOY, 'kustomize')])
    expect(objectsIn(built)).toEqual(objectsIn(readFileSync(FILE, 'utf8')))
  })

  test('takes what differs between clusters from one ConfigMap, and leaves no placeholder', async () => {
    const values = {
      cluster: 'prod-1',
      image: `registry.example.org/kubenode@sha256:${'a'.repeat(64)}`,
      apiServer: 'https://api.prod-1.example.org:6443',
      artifacts: 'https://artifacts.prod-1.example.org:30844/',
    }
    const map = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kubenode-settings', annotations: { 'config.kubernetes.io/local-config': 'true' } },
      data: values,
    }
    const overlay = {
      resources: [relative(folder, join(DEPLOY, 'kustomize')), 'settings.yaml'],
      components: [relative(folder, join(DEPLOY, 'kustomize/settings'))],
    }
    writeFileSync(join(folder, 'settings.yaml'), JSON.stringify(map))
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(overlay))
    const built = await kubectl.ok('kustomize', [folder])
    expect(built).not.toMatch(/set-the-/)
    for (const value of Object.values(values)) expect(built).toContain(value)
    expect(objectsIn(built).filter((o) => o.metadata.name === 'kubenode-settings')).toEqual([])
  })
})
