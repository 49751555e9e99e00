// Pure: the systemd unit that runs a host's agent.

export interface UnitPlace {
  readonly node: string
  /** Contains agent.mjs and supervisor.mjs. */
  readonly folder: string
  readonly root: string
}

/**
 * Hardened as far as possible for an agent that installs programs, writes below /etc and may reboot: no listening socket, no writable executable memory,
 * no changes to the clock, the host name or set-user-id bits. Its components run in their own units.
 */
export const agentUnit = ({ node, folder, root }: UnitPlace): string => `[Unit]
Description=KubeNode agent
Documentation=https://kubenode.io
After=network-online.target local-fs.target
Wants=network-online.target
# Disks that come late, such as one of \`nofail\`: without them there is no identity, and a host that has joined would look like one that never did.
RequiresMountsFor=${folder} ${root}
StartLimitIntervalSec=0

[Service]
Type=simple
ExecStart=${node} --max-old-space-size=24 --max-semi-space-size=1 ${folder}/supervisor.mjs ${folder}/agent.mjs --host --root ${root}
Environment=NODE_COMPILE_CACHE=${root}/cache
Environment=LD_LIBRARY_PATH=${folder}/lib
Restart=always
RestartSec=2
# Joining was refused, the identity is a copy, another agent runs: a person has to look.
RestartPreventExitStatus=78
# What it runs without systemd lives on.
KillMode=process
OOMScoreAdjust=-900
# A check that eats the memory is killed alone.
OOMPolicy=continue
UMask=0022
LimitNOFILE=4096
LockPersonality=yes
ProtectClock=yes
ProtectHostname=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK

[Install]
WantedBy=multi-user.target
`
