// Each credential of a control plane is made again alone, with real programs: what reads it is replaced, and the cluster keeps working.
import { expect, test } from 'vitest'
import { coreKind } from '#kube/core-kinds.ts'
import { PARTS, type Part } from '#api/constructs/control-plane/settings.ts'
import { freePort } from '#test/support/servers/free-port.ts'
import { untilUp } from '#test/support/servers/real/place.ts'
import { whyNoPrograms } from '#test/support/servers/real/programs.ts'
import { until } from '#test/support/tools/processes.ts'
import { clientOf, formsOf, isReady } from '#test/support/worlds/plane-clients.ts'
import { PlanePrograms } from '#test/support/worlds/plane-programs.ts'

const WITHIN_MS = 300_000
const CHAPTER_MS = 3_600_000

test(
  'each credential is made again alone, and the API and the managers keep working',
  async (context) => {
    const why = whyNoPrograms()
    if (why !== undefined) context.skip(`the programs of a control plane: ${why}`)
    const port = await freePort()
    const plane = await PlanePrograms.create(port)
    const as = formsOf(plane)
    const start = async (part: Part) => {
      plane.start(as(36), part, { port: part === 'apiserver' ? port : await freePort() })
      if (part !== 'apiserver') return
      // Managers that come first end and are started again; here they wait.
      const client = clientOf(plane, port)
      await untilUp(plane.programs, 'apiserver', WITHIN_MS, () => isReady(client))
      client.close()
    }
    const serves = async () => {
      const client = clientOf(plane, port)
      try {
        await untilUp(plane.programs, 'apiserver', WITHIN_MS, () => isReady(client))
        // A new namespace gets its account from the controller manager, whichever part was replaced.
        const name = `n-${Date.now().toString(36)}`
        const key = { namespace: name, name: 'default' }
        await client.create(coreKind('Namespace'), { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
        await until('its account', async () => await client.get(coreKind('ServiceAccount'), key), WITHIN_MS)
        const secrets = await client.list(coreKind('Secret'), { namespace: 'default' })
        return secrets.items.map(({ metadata }) => metadata.name)
      } finally {
        client.close()
      }
    }
    try {
      for (const part of PARTS) await start(part)
      const client = clientOf(plane, port)
      await untilUp(plane.programs, 'apiserver', WITHIN_MS, () => isReady(client))
      await client.create(coreKind('Secret'), {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'kept', namespace: 'default' },
      })
      client.close()
      const names = [...plane.inputs.recipe.leaves, ...plane.inputs.recipe.authorities].map(({ name }) => name)
      for (const name of names) {
        const before = as(36).credentials
        plane.renew({ ...plane.inputs, declared: { ...plane.inputs.declared, [name]: 2 } })
        const after = as(36).credentials
        // As the workloads do: the pods of a part are replaced when what they read has changed.
        const isReplaced = (part: Part) => before[part] !== after[part]
        // With one API server the managers end when it does; with several they ask the Service, and stay.
        const replaced = PARTS.filter((part) => isReplaced(part) || (isReplaced('apiserver') && part !== 'etcd'))
        for (const part of replaced.toReversed()) await plane.programs.end(part, 120_000)
        for (const part of replaced) await start(part)
        expect(await serves(), name).toEqual(['kept'])
      }
    } finally {
      await plane.stop()
    }
  },
  CHAPTER_MS,
)
