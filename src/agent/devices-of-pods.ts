// Which pods hold which devices, as the kubelet knows it: its PodResources service on a socket of the host. Only what device plugins and DRA gave out; a privileged
// container that opens a device by itself is not in there.
import { callGrpc, framed, protoFields, protoText } from './grpc-call.ts'

export const POD_RESOURCES_SOCKET = '/var/lib/kubelet/pod-resources/kubelet.sock'

const LIST = '/v1.PodResourcesLister/List'
/** Far more than a node has; an answer with more is not used. */
const MOST_PODS = 1_024
const MOST_PARTS = 4_096

export interface HeldDevice {
  readonly pod: string
  /** `nvidia.com/gpu`, or the driver of a DRA claim. */
  readonly resource: string
  /** What the plugin calls the device, such as its UUID; of a claim, its pool and name. */
  readonly device: string
}

/** A text says why nothing is known. */
export async function heldDevices(socketPath: string, timeoutMs: number): Promise<readonly HeldDevice[] | string> {
  const reply = await callGrpc(socketPath, LIST, framed(Buffer.alloc(0)), timeoutMs)
  if (reply.kind !== 'Body') return reply.message
  // One byte for compression and four for the length come first.
  const isPlain = reply.body[0] === 0
  return (isPlain ? parseHeld(reply.body.subarray(5)) : undefined) ?? 'its answer cannot be read'
}

/** Undefined: the answer is not whole, so that a pod might be missing. Fields by number, as in the kubelet's podresources/v1/api.proto. */
export function parseHeld(body: Buffer): readonly HeldDevice[] | undefined {
  try {
    return inner(body, 1, MOST_PODS).flatMap((pod) => {
      const name = `${protoText(pod, 2)}/${protoText(pod, 1)}`
      return inner(pod, 3).flatMap((container) => [...ofPlugins(name, container), ...ofClaims(name, container)])
    })
  } catch (error) {
    if (error instanceof NotWhole) return undefined
    throw error
  }
}

class NotWhole extends Error {}

/** The messages in one field. */
function inner(message: Buffer, number: number, most = MOST_PARTS): readonly Buffer[] {
  const fields = protoFields(message, most)
  if (fields === undefined) throw new NotWhole()
  return fields.flatMap((field) => (field.number === number ? [field.bytes] : []))
}

const ofPlugins = (pod: string, container: Buffer): readonly HeldDevice[] =>
  inner(container, 2).flatMap((group) => {
    const resource = protoText(group, 1)
    return inner(group, 2).map((id) => ({ pod, resource, device: id.toString('utf8') }))
  })

const ofClaims = (pod: string, container: Buffer): readonly HeldDevice[] =>
  inner(container, 5).flatMap((claim) =>
    inner(claim, 4).map((part) => ({
      pod,
      resource: protoText(part, 2),
      device: `${protoText(part, 3)}/${protoText(part, 4)}`,
    })),
  )
