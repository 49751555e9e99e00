// Pure: the join line as user data of cloud-init. The line is in a file that only root reads, so that its token is in no list of processes.

const FILE = '/run/kubenode-join'

export const cloudInit = (line: string): string => `#cloud-config
write_files:
  - path: ${FILE}
    permissions: "0600"
    encoding: b64
    content: ${Buffer.from(`${line.trim()}\n`).toString('base64')}
runcmd:
  - [sh, ${FILE}]
  - [rm, -f, ${FILE}]
`
