// For requests that want one answer: a switch to another protocol (101) is an error. Without a listener Node destroys the request and reports nothing, not even
// when its signal aborts later, and the caller would wait for ever.
import type { ClientRequest } from 'node:http'

export function refuseUpgrade(
  request: ClientRequest,
  error: Error = new Error('the answer is a switch to another protocol'),
): void {
  request.once('upgrade', (_, socket) => {
    socket.destroy()
    request.emit('error', error)
  })
}
