// The claim of docs/tasks/first-node.md, typed as the page says, before an installation: the checks, the pods that mount it, and what is said while its
// StorageClass is not there.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deploymentType } from '#install/observe.ts'
import { run } from '#cli/program.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { isFull, onlyInFull } from '#test/support/tools/full.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'
import { shellBlocks } from '#test/support/tools/readme.ts'
import {
  installServers,
  makeReadyNodes,
  startInstallWorld,
  type InstallWorld,
} from '#test/support/worlds/install-world.ts'

const PAGE = 'docs/tasks/first-node.md'
const page = readFileSync(join(import.meta.dirname, '../..', PAGE), 'utf8')
const yamlOf = (file: string): string =>
  new RegExp(`\`\`\`yaml\\n# ${file.replace('.', '\\.')}\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? ''
const [typed = ''] = shellBlocks(PAGE).filter((block) => block.includes('claim.yaml'))

describe.each(isFull ? installServers : installServers.slice(0, 1))('on $name', ({ start }) => {
  let world: InstallWorld
  let folder = ''
  beforeAll(async () => {
    world = await startInstallWorld(start)
    folder = mkdtempSync(join(tmpdir(), 'kubenode-claim-'))
    // The double does not serve the Defender's webhook.
    writeFileSync(join(folder, 'values.yaml'), `${yamlOf('values.yaml')}webhook: { enabled: false }\n`)
    writeFileSync(join(folder, 'claim.yaml'), yamlOf('claim.yaml'))
    await makeReadyNodes(world.admin, ['n-1', 'n-2'])
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    await world?.stop()
  })

  async function kubenode(...argv: readonly string[]) {
    let text = ''
    const io = {
      out: (t: string) => void (text += t),
      err: (t: string) => void (text += t),
      cwd: folder,
      env: { KUBECONFIG: world.server.kubeconfig },
      isTerminal: false,
    }
    return { code: await run([...argv, '--values', 'values.yaml'], io), text }
  }

  test('the two commands make the claim, the checks name its missing StorageClass, and pods mount it once that is there', async (context) => {
    onlyInFull(context)
    const kubectl = new Kubectl(world.server)
    const before = await kubenode('check', '--pre')
    expect(before.text).toMatch(/KN1412: persistentvolumeclaim artifacts gets no volume: it is not in namespace/)
    expect(typed.trim().split('\n')).toEqual([
      'kubectl create namespace kubenode-system',
      'kubectl apply -f claim.yaml',
    ])
    for (const command of typed.trim().split('\n'))
      await kubectl.ok(command.replace(/^kubectl /, '').replace('claim.yaml', join(folder, 'claim.yaml')))
    const without = await kubenode('check', '--pre')
    expect([without.code, without.text]).toEqual([
      1,
      expect.stringMatching(
        /KN1412: persistentvolumeclaim artifacts gets no volume: StorageClass shared does not exist/,
      ),
    ])
    await world.admin.create(coreKind('StorageClass'), {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'shared' },
      provisioner: 'example.org/none',
    })
    const good = await kubenode('check', '--pre')
    expect([good.code, good.text]).toEqual([0, expect.stringMatching(/^✔ storage: 1 volume can be provided$/m)])
    expect(await kubenode('install')).toMatchObject({ code: 0 })
    const artifacts = await world.admin.get(deploymentType, {
      namespace: 'kubenode-system',
      name: 'kubenode-artifacts',
    })
    expect(JSON.stringify(artifacts)).toContain('"claimName":"artifacts"')
  })
})
