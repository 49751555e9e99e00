// The canonical name of a topic in requests and responses, whatever its cluster is called. Pure; runs in browsers.
import type { Topic, TopicFamily } from './protocol.ts'

/** `machines/prod`; some clouds' context names contain slashes and colons. */
export const topicOf = (family: TopicFamily, ...names: readonly string[]): Topic =>
  [family, ...names.map(encodeURIComponent)].join('/')

/** Undefined for a fleet-wide topic. */
export function clusterOf(topic: Topic): string | undefined {
  const [, name] = topic.split('/')
  return name === undefined ? undefined : decodeURIComponent(name)
}
