// Every object of a control plane is taken by API servers as it is, in a namespace that enforces the restricted level, and so are the pods of its workloads.
import { describe, expect, test } from 'vitest'
import { controlPlaneObjects } from '#api/constructs/control-plane/control-plane.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { apiServers } from '#test/support/servers/api-servers.ts'
import { planeSettings } from '#test/support/worlds/control-planes.ts'

const START_MS = 400_000
const settings = planeSettings()
const objects = controlPlaneObjects(settings)

const PLURALS: Readonly<Record<string, string>> = {
  NetworkPolicy: 'networkpolicies',
}
const pathOf = ({ apiVersion, kind, metadata }: KubeObject): string => {
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`
  const base = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
  return metadata.namespace === undefined ? `${base}/${plural}` : `${base}/namespaces/${metadata.namespace}/${plural}`
}

interface Template {
  readonly spec: { readonly template?: { readonly metadata: object; readonly spec: object } }
}

describe.each(apiServers)('on $name', ({ start, hasLoops }) => {
  test(
    'all objects and all pods are taken without a warning, and a pod with more power is not',
    async () => {
      const server = await start()
      const client = new HttpKubeClient({
        server: server.url,
        ca: { data: server.ca },
        clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
      })
      const create = async (object: KubeObject) => {
        const { status, text, headers } = await client.raw({
          method: 'POST',
          path: `${pathOf(object)}?fieldValidation=Strict`,
          body: object,
        })
        return { status, warning: headers['warning'], body: status < 300 ? '' : text.slice(0, 400) }
      }
      try {
        for (const object of objects)
          expect(await create(object), `${object.kind} ${object.metadata.name ?? ''}`).toEqual({
            status: 201,
            warning: undefined,
            body: '',
          })
        // A bare server makes no service accounts, which pods need.
        if (!hasLoops)
          await create({
            apiVersion: 'v1',
            kind: 'ServiceAccount',
            metadata: { name: 'default', namespace: settings.namespace },
          })
        const templates = objects.flatMap((o) => (o as KubeObject & Template).spec?.template ?? [])
        expect(templates).toHaveLength(4)
        for (const [n, { metadata, spec }] of templates.entries()) {
          const pod = {
            apiVersion: 'v1',
            kind: 'Pod',
            metadata: { ...metadata, name: `trial-${n}`, namespace: settings.namespace },
            // Of the claim of a StatefulSet.
            spec: {
              ...spec,
              volumes: [...((spec as { volumes: object[] }).volumes ?? []), { name: 'data', emptyDir: {} }],
            },
          }
          expect(await create(pod)).toMatchObject({ status: 201, warning: undefined })
        }
        const strong = {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'strong', namespace: settings.namespace },
          spec: { containers: [{ name: 'c', image: 'x' }] },
        }
        expect((await create(strong)).status).toBe(403)
      } finally {
        client.close()
        await server.stop()
      }
    },
    START_MS,
  )
})
