// How a topic is spelled, as the page asks for it and the server sends it: one way for each topic, whatever its cluster is called. Pure; runs in browsers.
import type { Topic, TopicFamily } from './protocol.ts'

/** `machines/prod`; contexts of some clouds have slashes and colons in their names. */
export const topicOf = (family: TopicFamily, ...names: readonly string[]): Topic =>
  [family, ...names.map(encodeURIComponent)].join('/')

/** Undefined for a topic of the whole fleet. */
export function clusterOf(topic: Topic): string | undefined {
  const [, name] = topic.split('/')
  return name === undefined ? undefined : decodeURIComponent(name)
}
