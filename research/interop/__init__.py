"""Real model servers, each in an environment of its own, asked as `wm verify --url` asks a suspect.

`servers` is the table of servers, `environments` installs and starts them, `served` holds what they serve.
"""
