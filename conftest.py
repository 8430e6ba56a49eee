"""What holds for the tests of the product and of the research."""

from hypothesis import settings

# A slow or busy machine is no failure.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=100)  # make thorough
settings.load_profile("quick")
