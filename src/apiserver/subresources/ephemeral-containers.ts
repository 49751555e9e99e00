// The ephemeralcontainers subresource of pods: containers added to a running pod for debugging. No other field of the pod changes
// here, and these containers cannot be changed through the pod itself.
import { fields, specOf } from '../builtin/fields.ts'
import { ephemeralProblems } from '../builtin/pod.ts'
import type { Call, Handler } from '../handlers/context.ts'
import { handleUpdate } from '../handlers/create.ts'
import { handleGet } from '../handlers/list.ts'
import { handlePatch } from '../handlers/patch.ts'
import type { Served } from '../registry/served.ts'

const confined = ({ served }: Call): Served => ({
  ...served,
  behaviour: {
    ...served.behaviour,
    confine: (object, old) => {
      const { ephemeralContainers } = specOf(object)
      const { ephemeralContainers: _, ...spec } = fields(old['spec'])
      const { resourceVersion, managedFields } = object.metadata
      return {
        ...old,
        metadata: {
          ...old.metadata,
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
          ...(managedFields === undefined ? {} : { managedFields }),
        },
        spec: { ...spec, ...(ephemeralContainers === undefined ? {} : { ephemeralContainers }) },
      }
    },
    validate: (pod, old) => (old === undefined ? [] : ephemeralProblems(pod, old)),
  },
})

export const ephemeralContainerHandlers: Readonly<Record<string, Handler>> = {
  get: handleGet,
  update: (call) => handleUpdate({ ...call, served: confined(call) }),
  patch: (call) => handlePatch({ ...call, served: confined(call) }),
}
