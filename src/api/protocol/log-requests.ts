// How the log of a component gets from its agent to one person: what of a request is encrypted to whom.
import { type SealedPlace, openSealed, seal } from '../sealed.ts'

/** 128 random bits: who does not know the name cannot read the request. */
const REQUEST_NAME = /^[0-9a-f]{32}$/

const ticketPlace = (machine: string): SealedPlace => ({ machine, component: '', path: 'log-request' })
const pagePlace = (machine: string, request: string, page: number): SealedPlace => ({
  machine,
  component: request,
  path: `log-page-${page}`,
})

/** What the Machine carries: the name of the request, which only the agent of that Machine can read. */
export const ticketFor = (agentKey: string, machine: string, request: string): string =>
  seal(agentKey, ticketPlace(machine), request)

/** Undefined: it was not made for this agent, or names no request. */
export function requestOf(privateKey: string, machine: string, ticket: string): string | undefined {
  const opened = openSealed(privateKey, ticketPlace(machine), ticket)
  return opened.kind === 'Opened' && REQUEST_NAME.test(opened.value) ? opened.value : undefined
}

/** Throws for what is no key. */
export const sealedPage = (replyKey: string, machine: string, request: string, page: number, text: string): string =>
  seal(replyKey, pagePlace(machine, request, page), text)

export function pageText(
  privateKey: string,
  machine: string,
  request: string,
  page: number,
  sealed: string,
): string | undefined {
  const opened = openSealed(privateKey, pagePlace(machine, request, page), sealed)
  return opened.kind === 'Opened' ? opened.value : undefined
}
