// How a component's log gets from its agent to one user: which parts of a request are encrypted to whom.
import { type SealedPlace, openSealed, seal } from '../sealed.ts'

/** 128 random bits: without the name, the request cannot be read. */
const REQUEST_NAME = /^[0-9a-f]{32}$/

const ticketPlace = (machine: string): SealedPlace => ({ machine, component: '', path: 'log-request' })
const pagePlace = (machine: string, request: string, page: number): SealedPlace => ({
  machine,
  component: request,
  path: `log-page-${page}`,
})

/** The Machine's part: the request's name, readable only by that Machine's agent. */
export const ticketFor = (agentKey: string, machine: string, request: string): string =>
  seal(agentKey, ticketPlace(machine), request)

/** Undefined if it was not created for this agent, or names no request. */
export function requestOf(privateKey: string, machine: string, ticket: string): string | undefined {
  const opened = openSealed(privateKey, ticketPlace(machine), ticket)
  return opened.kind === 'Opened' && REQUEST_NAME.test(opened.value) ? opened.value : undefined
}

/** Throws for an invalid key. */
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
