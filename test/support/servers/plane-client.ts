// A client of one control plane, as the conformance suite of hosts asks for it.
import type { PlaneClient } from '#test/support/controlplanes/conformance.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { isObject } from '#lib/json.ts'

const configMaps = coreKind('ConfigMap')
const namespace = 'default'

export function planeClient(kubeconfig: string): PlaneClient {
  const client = new HttpKubeClient(parseSafeKubeconfig(kubeconfig, 'test').config)
  return {
    version: async () => {
      const answer = await client.raw({ method: 'GET', path: '/version' }).catch(() => undefined)
      const body: unknown = JSON.parse(answer?.text ?? '{}')
      return /^v([0-9.]+)/.exec(isObject(body) ? String(body['gitVersion']) : '')?.[1]
    },
    write: async (name, value) => {
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { value } }
      await client.apply(configMaps, object, { fieldManager: 'test', force: true })
    },
    read: async (name) => {
      const seen = await client.get(configMaps, { name, namespace })
      return isObject(seen?.['data']) ? String(seen['data']['value']) : undefined
    },
    revision: async () => Number((await client.list(configMaps, { namespace })).resourceVersion),
    user: async () => {
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
      const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
      const { text } = await client.raw({ method: 'POST', path, body })
      const seen = JSON.parse(text) as { readonly status: { readonly userInfo: { readonly username: string } } }
      return seen.status.userInfo.username
    },
    close: () => client.close(),
  }
}
