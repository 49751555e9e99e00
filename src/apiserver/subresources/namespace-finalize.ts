// The finalize subresource of namespaces: the only place where the finalizers of their spec change; when none is left the namespace is deleted.
import { isObject } from '#lib/json.ts'
import type { Call, Handler } from '../handlers/context.ts'
import { handleUpdate } from '../handlers/create.ts'
import type { Served } from '../registry/served.ts'

function finalizeServed({ served }: Call): Served {
  return {
    ...served,
    behaviour: {
      ...served.behaviour,
      prepareForUpdate: (o, old) => ({ ...old, metadata: o.metadata, spec: isObject(o['spec']) ? o['spec'] : {} }),
    },
  }
}

export const finalizeHandlers: Readonly<Record<string, Handler>> = {
  update: (call) => handleUpdate({ ...call, served: finalizeServed(call) }),
}
