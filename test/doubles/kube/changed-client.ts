// A client of which some calls are others.
import type { KubeClient } from '#kube/client.ts'

export const changedClient = (real: KubeClient, changes: Partial<KubeClient>): KubeClient =>
  new Proxy(real, {
    get: (target, name) => {
      if (Object.hasOwn(changes, name)) return Reflect.get(changes, name)
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
